"""Yardmaster beside an HTCondor pool: ads become records, matches become edits of jobs."""
