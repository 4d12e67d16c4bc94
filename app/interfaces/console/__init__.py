"""The pages at ``/console``, made on the server for people who look after memories."""
