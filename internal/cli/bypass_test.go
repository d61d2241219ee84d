package cli

import "testing"

func TestBypassIsRefusedToRootOutsideOfASandbox(t *testing.T) {
	for _, c := range []struct {
		mode    string
		exposed bool
		refused bool
	}{{"bypassPermissions", true, true}, {"bypassPermissions", false, false}, {"acceptEdits", true, false}, {"", true, false}} {
		if err := checkBypass(c.mode, c.exposed); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for value, want := range map[string]bool{"1": true, "yes": true} {
		if got := inSandbox(func(name string) string { return map[string]string{"IS_SANDBOX": value}[name] }); got != want {
			t.Errorf("IS_SANDBOX=%s: %v", value, got)
		}
	}
}
