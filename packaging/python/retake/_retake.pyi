from os import PathLike
from typing import Optional, Tuple, TypedDict, Union

VERSION: str

class RetakeError(ValueError): ...

class Options(TypedDict):
    format: Optional[str]
    dialect: Optional[str]
    tools: Optional[str]
    output_schema: Optional[str]
    is_request: bool

def check_path(path: Union[str, "PathLike[str]"], options: Options) -> str: ...
def check_bytes(data: bytes, options: Options) -> str: ...
def fix_bytes(data: bytes, options: Options, allow_unsafe: bool) -> Tuple[bytes, str]: ...
