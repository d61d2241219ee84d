package mailbox

import "cmp"

// Cursor is a place in a transport's stream. It says nothing of what was
// recorded; the marks of the ledgers do.
type Cursor struct {
	Stream int64  // when the stream was created, nanoseconds since 1970
	Seq    uint64 // of the last message before this place
}

// Compare orders cursors by stream, then by sequence number, so that the newest
// cursor of several ledgers can be found.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(cmp.Compare(c.Stream, o.Stream), cmp.Compare(c.Seq, o.Seq))
}
