"""What may end the demonstration early.

DemonstrationFailed     base; the message says what happened and where to look
+-- ProcessFailed       a process of the product ended by itself, or did not become ready
+-- NotPublished        what was registered did not reach Redis in time
+-- NotDurable          what devices uploaded did not become durable in time
+-- DeviceRefused       the service refused a batch whole
+-- AgentFailed         the agent of a bus without network did not fetch its list, or was not allowed to upload
+-- NoLines             a feed gives no line with an operator
"""


class DemonstrationFailed(RuntimeError):
    """The demonstration cannot go on."""


class ProcessFailed(DemonstrationFailed):
    """A process ended by itself, or did not become ready; the message shows the end of its log."""


class NotPublished(DemonstrationFailed):
    """What was registered did not reach Redis in time."""


class NotDurable(DemonstrationFailed):
    """What devices uploaded did not become durable in time."""


class DeviceRefused(DemonstrationFailed):
    """The service refused a request that it must accept; the demonstration has found a fault."""


class AgentFailed(DemonstrationFailed):
    """The agent of a bus without network did not get its list, broke its chain, or could not upload."""


class NoLines(DemonstrationFailed):
    """A feed gives no line with an operator."""
