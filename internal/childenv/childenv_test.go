package childenv

import (
	"slices"
	"strings"
	"testing"
)

func TestNoSecretPasses(t *testing.T) {
	have := map[string]string{
		"PATH": "/bin", "HOME": "/home/u", "ANTHROPIC_API_KEY": "k", "DB_PASSWORD": "p", "LD_PRELOAD": "x.so",
		"HTTPS_PROXY": "http://u:p@proxy", "MINE": "1", "GITHUB_TOKEN": "t",
	}
	env := Of(func(name string) string { return have[name] }, []string{"MINE", "GITHUB_TOKEN", "DB_PASSWORD", "LD_PRELOAD"})
	for _, want := range []string{"PATH=/bin", "HOME=/home/u", "MINE=1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "DB_PASSWORD", "LD_PRELOAD", "HTTPS_PROXY", "GITHUB_TOKEN"} {
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			t.Errorf("%s passed", name)
		}
	}
}
