package model

// AppendJSON appends the block's encoding, the bytes it has inside a message.
// It lets a transcript keep blocks one by one before they become a message.
func (b Block) AppendJSON(dst []byte) []byte { return b.appendTo(dst) }
