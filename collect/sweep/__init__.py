"""What happens while a run runs: trials are pulled, its status is shown, a hook is called."""
