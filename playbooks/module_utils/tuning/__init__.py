"""The settings of the module tuning, one file for each subject; `fingerprint` reads some too."""
