package spelling

import "testing"

type pair struct{ a, b string }

func TestSlips(t *testing.T) {
	for p, want := range map[pair]bool{
		{"bash", "bash"}: true, {"bash", "bas"}: true, {"bash", "basch"}: true, {"bash", "bosh"}: true, {"bash", "bahs"}: true,
		{"bash", "ba"}: false, {"bash", "bosch"}: false, {"read", "edit"}: false, {"abcd", "badc"}: false, {"", "a"}: true, {"", "ab"}: false,
	} {
		if Slip(p.a, p.b) != want {
			t.Errorf("Slip(%q, %q) is not %t", p.a, p.b, want)
		}
	}
}

func TestNearNames(t *testing.T) {
	for p, want := range map[pair]bool{
		{"hooks", "hooks"}: true, {"hooks", "hook"}: true, {"permisions", "permissions"}: true, {"sandbox", "sndbx"}: false, {"sandbox", "sandxyx"}: true,
		{"hooks", "ho"}: false, {"", "ab"}: true, {"", "abc"}: false,
	} {
		if Near(p.a, p.b) != want {
			t.Errorf("Near(%q, %q) is not %t", p.a, p.b, want)
		}
	}
}

func TestComparisonsAreSymmetric(t *testing.T) {
	names := []string{"", "a", "ab", "ba", "aab", "hook", "hooks", "hoosk", "permissions"}
	for _, a := range names {
		for _, b := range names {
			if Slip(a, b) != Slip(b, a) || Near(a, b) != Near(b, a) || a == b && !(Slip(a, b) && Near(a, b)) {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}

func TestSuggestionsAreKnown(t *testing.T) {
	known := []string{"acceptEdits", "plan", "default", "bypassPermissions"}
	for name, want := range map[string]string{
		"acceptedits": "; did you mean --acceptEdits?", "plam": "; did you mean --plan?", "defualt": "; did you mean --default?",
		"bypass": "; did you mean --bypassPermissions?", "": "", "nothing": "",
	} {
		if got := DidYouMean(name, "--", known); got != want {
			t.Errorf("of %q it says %q, want %q", name, got, want)
		}
	}
}
