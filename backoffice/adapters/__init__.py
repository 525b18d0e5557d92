"""Technology behind the back office: the embedded Redis server, the journal stream, feeds and claim files."""
