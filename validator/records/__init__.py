"""The wire between validator, onboard agent and back office. Fields are only ever appended.

- `keys`: names of keys in Redis and the shard of each
- `codes`, `packing`: how words become numbers and records become bytes
- `snapshot`, `usage`, `city`: what Redis holds
- `journal`: entries of the journal streams and the answers kept for replay
- `device_messages`, `card_token`: what devices and cards carry
"""
