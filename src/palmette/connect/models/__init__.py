"""Models of CRFsuite, CRF++ and Wapiti: what their files hold, as `ImportedModel`, and CRFsuite's files written."""
