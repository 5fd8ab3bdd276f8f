//! Which turn of a recording answers a request: the same history strictly, or the nearest one. No socket here; `runtime::replay` serves.
