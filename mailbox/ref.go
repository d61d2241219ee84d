package mailbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Ref names a body by what it holds: "sha256:HEX:SIZE", the size in bytes. Who
// has the bytes can check that they are the ones that were sent.
type Ref string

// RefOf returns the name of a body.
func RefOf(body []byte) Ref {
	return Ref(fmt.Sprintf("sha256:%x:%d", sha256.Sum256(body), len(body)))
}

// Valid reports whether the reference has its form; "", which refers to nothing,
// does.
func (r Ref) Valid() bool {
	if r == "" {
		return true
	}
	rest, ok := strings.CutPrefix(string(r), "sha256:")
	sum, size, found := strings.Cut(rest, ":")
	if !ok || !found || len(sum) != 2*sha256.Size || strings.ToLower(sum) != sum {
		return false
	}
	_, err := hex.DecodeString(sum)
	n, bad := strconv.ParseUint(size, 10, 63)
	return err == nil && bad == nil && strconv.FormatUint(n, 10) == size
}

// Hash returns the hexadecimal hash, under which stores keep the body.
func (r Ref) Hash() string {
	sum, _, _ := strings.Cut(strings.TrimPrefix(string(r), "sha256:"), ":")
	return sum
}

// Size returns the size of the body in bytes.
func (r Ref) Size() int64 {
	_, size, _ := strings.Cut(strings.TrimPrefix(string(r), "sha256:"), ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Names reports whether body is what the reference names.
func (r Ref) Names(body []byte) bool { return r != "" && r == RefOf(body) }
