from tests.crash.conftest import driver

__all__ = ["driver"]
