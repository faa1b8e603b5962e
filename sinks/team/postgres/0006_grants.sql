-- What a member may call; all else in the schema is the owner's.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA subcog FROM PUBLIC;
GRANT USAGE ON SCHEMA subcog TO subcog_member;
GRANT EXECUTE ON FUNCTION
    my_team, hello, changes_after, put, forget, mark_used, share, unshare, graph, search
TO subcog_member;
