package mailbox

import (
	"crypto/rand"
	"encoding/base32"
)

// ID identifies one message for ever. NewID makes them; an id made elsewhere must
// consist of 1 to 64 of a-z, 0-9 and '-'.
type ID string

// Valid reports whether the id has that form.
func (id ID) Valid() bool { return validToken(string(id)) }

// NewID returns 128 random bits in lower-case base32, 26 characters.
func NewID() ID {
	var b [16]byte
	rand.Read(b[:]) // documented never to fail
	return ID(idEncoding.EncodeToString(b[:]))
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
