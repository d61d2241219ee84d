package model

// AppendJSON appends the block's encoding, the bytes that it has inside a message, so that
// a transcript can store blocks before they become a message.
func (b Block) AppendJSON(dst []byte) []byte { return b.appendTo(dst) }
