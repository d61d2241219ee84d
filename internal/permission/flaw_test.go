package permission

import (
	"strings"
	"testing"
)

func TestPathsThatMatchNothingAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`Read("x")`: "without quotes", "Read(!x)": "excepts nothing", "Edit($HOME/x)": "write ~/", "Read(/etc/passwd)": "write //etc/passwd for the root",
		"Read(/src/x)": "", "Read(//etc/passwd)": "", "Read(./etc/x)": "", "Edit(~/x)": "",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Flaw(Deny, []string{"Read", "Edit"}); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
