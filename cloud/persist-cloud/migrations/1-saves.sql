-- The saves of all players, each write of a slot a row; the newest is the slot. Feature `postgres` of persist-cloud.
CREATE TABLE persist_saves (
    player text NOT NULL,
    slot text NOT NULL,
    -- Counts the writes of the slot.
    number bigint NOT NULL,
    -- What the writer has called its write, by which it knows it again.
    write text NOT NULL,
    -- Length and hash of the save; null in a row that says that the slot was deleted.
    version text,
    size bigint,
    -- What the header of the save says, for queries.
    generation bigint,
    application text,
    application_version text,
    devices jsonb,
    metadata jsonb,
    saved_at timestamptz NOT NULL DEFAULT now(),
    header bytea,
    -- The save, or the large object that has it. Both null: the save was older than the backups that are kept.
    save bytea,
    large oid,
    PRIMARY KEY (player, slot, number)
);

-- Saves are compressed already, or small.
ALTER TABLE persist_saves ALTER save SET STORAGE EXTERNAL;
