"""Shared by Yardmaster's clients: records as bytes, configuration files, Kafka's log lines."""
