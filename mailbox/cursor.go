package mailbox

import "cmp"

// Cursor is a position in a transport's stream. What was recorded follows from the
// marks of the ledgers, not from a cursor.
type Cursor struct {
	Stream int64  // when the stream was created, nanoseconds since 1970
	Seq    uint64 // of the last message before this position
}

// Compare orders cursors by stream, then by sequence number.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(cmp.Compare(c.Stream, o.Stream), cmp.Compare(c.Seq, o.Seq))
}
