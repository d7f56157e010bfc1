"""What stops a command: bad usage or input, told in one message."""


class InputError(Exception):
    """Bad usage or input; the command prints the message and ends with exit code 2.

    The message names the thing, the reason and the next step.
    """
