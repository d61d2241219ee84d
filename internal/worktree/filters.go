package worktree

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// filters finds the filters that the repository's own settings name. They are programs that
// git would run on each file that it writes or compares.
type filters struct {
	once  sync.Once
	env   []string
	users bool // the user's own settings name some
	err   error
}

// off returns variables that put in place of those filters what the user's own settings
// have under the same name, such as lfs, or nothing.
func (f *filters) off(ctx context.Context, g git) ([]string, error) {
	f.once.Do(func() {
		g.filters = nil
		found, err := g.list(ctx, "config", "--list", "--show-scope", "-z")
		if f.err = err; err == nil {
			f.env, f.users = withoutFilters(found)
		}
	})
	return f.env, f.err
}

// withoutFilters takes scopes and settings in turn, as git lists them. It reports whether
// the user has filters.
func withoutFilters(found []string) (env []string, usersOwn bool) {
	own, users := map[string]bool{}, map[string]string{}
	for i := 0; i+1 < len(found); i += 2 {
		key, value, _ := strings.Cut(found[i+1], "\n")
		if !strings.HasPrefix(key, "filter.") {
			continue
		}
		if scope := found[i]; scope == "global" || scope == "system" {
			users[key] = value
			continue
		}
		driver := key[:strings.LastIndexByte(key, '.')]
		for _, part := range []string{".smudge", ".clean", ".process", ".required"} {
			own[driver+part] = true
		}
	}
	n := 0
	for key := range own {
		value := users[key]
		if value == "" && strings.HasSuffix(key, ".required") {
			value = "false"
		}
		// Not by -c, which takes a name with = apart.
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), len(users) > 0
}
