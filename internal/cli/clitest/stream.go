package clitest

import (
	"encoding/json"
	"strings"
	"testing"
)

// CheckStream holds a stream to what every reader relies on.
func CheckStream(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	seen := map[string]bool{}
	for i, line := range lines {
		var l struct {
			Type, Subtype, UUID string
			Session             string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("line %d is not JSON: %v: %s", i+1, err, line)
		}
		if l.UUID == "" || seen[l.UUID] || l.Session == "" {
			t.Errorf("line %d has no uuid of its own or no session: %s", i+1, line)
		}
		seen[l.UUID] = true
		if first := l.Type == "system" && l.Subtype == "init"; first != (i == 0) {
			t.Errorf("line %d is %s/%s: init comes first and once", i+1, l.Type, l.Subtype)
		}
		if last := l.Type == "result"; last != (i == len(lines)-1) {
			t.Errorf("line %d is %s/%s: the result comes last and once", i+1, l.Type, l.Subtype)
		}
	}
}
