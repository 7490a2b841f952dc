-- The saves of all players. Each write of a slot is a row, and the newest row is the slot's current state.
-- Used by the feature `postgres` of persist-cloud.
CREATE TABLE persist_saves (
    player text NOT NULL,
    slot text NOT NULL,
    -- Counts the writes of the slot.
    number bigint NOT NULL,
    -- The unique name of the write, by which a retry recognizes it.
    write text NOT NULL,
    -- Length and hash of the save; null if the write deleted the slot.
    version text,
    size bigint,
    -- Fields of the save's header, for queries.
    generation bigint,
    application text,
    application_version text,
    devices jsonb,
    metadata jsonb,
    saved_at timestamptz NOT NULL DEFAULT now(),
    header bytea,
    -- The save, or the large object that contains it. Both are null if the save is older than the retained backups.
    save bytea,
    large oid,
    PRIMARY KEY (player, slot, number)
);

-- Do not compress saves: they are compressed already, or small.
ALTER TABLE persist_saves ALTER save SET STORAGE EXTERNAL;
