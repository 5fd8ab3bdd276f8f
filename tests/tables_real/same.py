"""Tables in an order of their own, to be compared to the byte."""

import pyarrow

TABLES = ["sessions", "items", "calls", "findings", "problems"]


def in_order(table: pyarrow.Table, schema: pyarrow.Schema) -> bytes:
    """The rows in the order of all columns, as the bytes of an Arrow stream."""
    table = table.select(schema.names).cast(schema.remove_metadata())
    table = table.sort_by([(name, "ascending") for name in schema.names]).combine_chunks()
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def facts(schema: pyarrow.Schema) -> dict:
    """What the metadata of a schema says of its table."""
    return {key: value for key, value in schema.metadata.items() if key.startswith(b"retake.")}
