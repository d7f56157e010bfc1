"""Archives: runs in one zip file that is a RO-Crate, proven whole each time it is opened."""
