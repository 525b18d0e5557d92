"""The agent that runs on the bus: reader, journal on disk, the same `decide` when there is no network, uplink.

- `journal`, `rides`: what the device wrote down, and what of it still counts against its own riders
- `city_store`, `download`, `listed`, `offline`: the signed list of the city and decisions on it
- `link`, `link_state`, `uplink`: the way to the service, and when not to wait for it
- `reader`, `agent`: from a line of the reader to the turnstile
- `enrolment`, `bootstrap`: installation, and the assembled process

The package is small on purpose: it runs on a machine with 256 MB of memory and an SD card that may lose power.
"""
