"""The edit that krmfn makes in a LeaderWorkerSet, written for each peer: programs that filter stdin to stdout."""
