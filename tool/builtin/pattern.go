package builtin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/gitignore"
)

// patternError reports a regular expression that an engine refuses.
type patternError struct {
	pattern string
	why     string
}

func (e *patternError) Error() string {
	return fmt.Sprintf("the pattern %q is not a valid regular expression: %s; put a backslash before characters meant literally", e.pattern, e.why)
}

// checkPattern reports constructs that linear-time engines lack, with clearer errors than
// theirs.
func checkPattern(pattern string) error {
	if pattern == "" {
		return errors.New("the pattern is empty; give a regular expression")
	}
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			if '1' <= pattern[i] && pattern[i] <= '9' {
				return fmt.Errorf("back-references (\\%c) are not supported by Grep; use grep -P through Bash", pattern[i])
			}
		case lookAround(pattern[i:]):
			return errors.New("look-ahead and look-behind, (?= (?! (?<= (?<!, are not supported by Grep; use grep -P through Bash, or search wider and filter")
		}
	}
	return nil
}

func lookAround(s string) bool {
	for _, p := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// compile compiles the expression for the search in process.
func compile(q *query) (*regexp.Regexp, error) {
	flags := "m"
	if q.fold {
		flags += "i"
	}
	if q.multiline {
		flags += "s"
	}
	re, err := regexp.Compile("(?" + flags + ":" + q.pattern + ")")
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, &patternError{pattern: q.pattern, why: why}
	}
	return re, nil
}

// splitGlobs separates globs at blanks and commas outside of braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ')
	})
}

// expandBraces writes out the alternatives of a glob.
func expandBraces(glob string) []string {
	open := strings.IndexByte(glob, '{')
	if open < 0 {
		return []string{glob}
	}
	depth, start := 0, open+1
	var parts []string
	for i := open; i < len(glob); i++ {
		switch {
		case glob[i] == '{':
			depth++
		case glob[i] == ',' && depth == 1:
			parts, start = append(parts, glob[start:i]), i+1
		case glob[i] == '}':
			if depth--; depth == 0 {
				return combine(glob[:open], append(parts, glob[start:i]), glob[i+1:])
			}
		}
	}
	return []string{glob}
}

func combine(before string, parts []string, after string) []string {
	var all []string
	for _, p := range parts {
		for _, whole := range expandBraces(p + after) {
			all = append(all, before+whole)
		}
	}
	return all
}

// selects applies the globs and the type of a query to a file.
func (q *query) selects(rel string) bool {
	if len(q.types) > 0 && !slices.ContainsFunc(q.types, func(p string) bool { return globRule(p).Match(rel, false) }) {
		return false
	}
	verdict := !slices.ContainsFunc(q.globs, func(g string) bool { return !strings.HasPrefix(g, "!") })
	for _, g := range q.globs {
		for _, p := range expandBraces(strings.TrimPrefix(g, "!")) {
			if strings.HasPrefix(g, "!") {
				verdict = verdict && !covers(globRule(p), rel)
			} else if globRule(p).Match(rel, false) {
				verdict = true
			}
		}
	}
	return verdict
}

func globRule(pattern string) gitignore.Rule {
	r, _ := gitignore.ParseRule(pattern, "")
	return r
}

// covers reports whether the rule names a file or a folder it lies in.
func covers(r gitignore.Rule, rel string) bool {
	for i := range rel {
		if rel[i] == '/' && r.Match(rel[:i], true) {
			return true
		}
	}
	return r.Match(rel, false)
}

// ofType sets the patterns of a named language.
func (q *query) ofType(name string) error {
	if name == "" {
		return nil
	}
	types := fileTypes()
	list, ok := types[name]
	if !ok {
		known := slices.Sorted(maps.Keys(types))
		return fmt.Errorf("there is no file type %q; use glob, or one of: %s", name, strings.Join(known, " "))
	}
	q.types = strings.Fields(list)
	return nil
}

func fileTypes() map[string]string {
	return map[string]string{
		"c": "*.c *.h", "clojure": "*.clj *.cljc *.cljs", "cpp": "*.cc *.cpp *.cxx *.hh *.hpp *.hxx *.h *.inl", "cs": "*.cs",
		"css": "*.css *.scss *.sass *.less", "dart": "*.dart", "docker": "Dockerfile Dockerfile.* *.dockerfile", "elixir": "*.ex *.exs",
		"erlang": "*.erl *.hrl", "go": "*.go", "graphql": "*.graphql *.gql", "haskell": "*.hs *.lhs", "html": "*.html *.htm", "java": "*.java",
		"js": "*.js *.jsx *.mjs *.cjs *.vue", "json": "*.json *.jsonc *.jsonl", "julia": "*.jl", "kotlin": "*.kt *.kts", "lua": "*.lua",
		"make": "Makefile makefile GNUmakefile *.mk", "markdown": "*.md *.markdown *.mdx", "md": "*.md *.markdown *.mdx", "nix": "*.nix",
		"ocaml": "*.ml *.mli", "perl": "*.pl *.pm *.t", "php": "*.php", "proto": "*.proto", "py": "*.py *.pyi", "python": "*.py *.pyi",
		"r": "*.R *.r *.Rmd", "ruby": "*.rb *.rake Gemfile Rakefile", "rust": "*.rs", "scala": "*.scala *.sbt", "sh": "*.sh *.bash *.zsh *.ksh",
		"sql": "*.sql", "svelte": "*.svelte", "swift": "*.swift", "tf": "*.tf *.tfvars", "toml": "*.toml", "ts": "*.ts *.tsx *.mts *.cts",
		"tsx": "*.tsx", "txt": "*.txt", "vue": "*.vue", "xml": "*.xml *.xsd *.xsl", "yaml": "*.yaml *.yml", "zig": "*.zig",
	}
}
