"""The commands of ``subcog``, grouped by what they are for. Imported when one of them is used."""
