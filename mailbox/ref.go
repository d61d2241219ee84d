package mailbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Ref identifies a body by its content: "sha256:HEX:SIZE", the size in bytes. A reader
// of the body can check it against the reference.
type Ref string

// RefOf returns the reference to a body.
func RefOf(body []byte) Ref {
	return Ref(fmt.Sprintf("sha256:%x:%d", sha256.Sum256(body), len(body)))
}

// Valid reports whether the reference is well-formed or "".
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

// Matches reports whether r is the reference to body.
func (r Ref) Matches(body []byte) bool { return r != "" && r == RefOf(body) }
