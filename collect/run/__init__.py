"""What a run is on disk: its study, its plan, its sealed trials and the nodes they ran on."""
