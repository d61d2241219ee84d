package defs

import (
	"slices"
	"strings"
)

// ModelOrder is the precedence of the call, the definition and the environment when several
// name a model.
type ModelOrder int

const (
	// CallFirst: call, definition, environment, parent. The default.
	CallFirst ModelOrder = iota
	// EnvironmentFirst: environment, call, definition, parent.
	EnvironmentFirst
)

// ResolveModel is CallFirst.Resolve.
func ResolveModel(call, definition, env, parent string) (model, from string) {
	return CallFirst.Resolve(call, definition, env, parent)
}

// Resolve returns the model of a new agent and where it came from: "call",
// "definition", "environment" or "parent". call is the model of the Agent call,
// env the value of CLAUDE_CODE_SUBAGENT_MODEL. Empty values do not count;
// "inherit" (lower case) is the parent's model, except in the environment,
// where it counts as empty. An alias of the parent's own family becomes the
// parent's exact id, so that a suffix such as "[1m]" is kept.
func (o ModelOrder) Resolve(call, definition, env, parent string) (model, from string) {
	if env == "inherit" {
		env = ""
	}
	chain := []struct{ model, from string }{
		{call, "call"}, {definition, "definition"}, {env, "environment"},
	}
	if o == EnvironmentFirst {
		chain = slices.Concat(chain[2:], chain[:2])
	}
	for _, c := range chain {
		if m := strings.TrimSpace(c.model); m != "" {
			return likeParent(m, parent), c.from
		}
	}
	return parent, "parent"
}

func likeParent(model, parent string) string {
	if model == "inherit" || slices.Contains(ModelAliases(), model) && inFamily(parent, model) {
		return parent
	}
	return model
}

// inFamily reports whether a full id such as "claude-opus-4-1[1m]" belongs to
// the family an alias names.
func inFamily(id, alias string) bool {
	words := strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return strings.ContainsRune("-._:/@[]", r) })
	return slices.Contains(words, alias)
}
