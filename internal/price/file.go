package price

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// Load returns the list prices under the entries of the user's file. A missing file is an
// empty one; all errors of a file are reported at once, each with its line. docs/models.md
// describes the format.
func Load(path string) (*Table, error) {
	t := List()
	src, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, fmt.Errorf("read the table of models: %w", err)
	}
	f := file{path: path, list: t}
	t.own = f.parse(src)
	return t, errors.Join(f.errs...)
}

// file is one reading of a user's file.
type file struct {
	path string
	list *Table
	errs []error
}

func (f *file) wrong(line int, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...)))
}

func (f *file) parse(src []byte) []entry {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", f.path, syntaxerr.YAML(err)))
		return nil
	}
	if doc.Kind == 0 {
		return nil
	}
	var all []entry
	f.each(doc.Content[0], "the file", func(key, value *yaml.Node) {
		if key.Value == "" {
			f.wrong(key.Line, "a model needs a name: the beginning of its id")
			return
		}
		e := f.entry(strings.ToLower(key.Value), value)
		for _, other := range all {
			if other.name == e.name {
				f.wrong(key.Line, "%s stands here twice; keep one", key.Value)
			}
		}
		all = append(all, e)
	})
	return all
}

// each calls see with the members of a mapping.
func (f *file) each(n *yaml.Node, what string, see func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.wrong(n.Line, "%s is not a list of names with values", what)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		see(n.Content[i], n.Content[i+1])
	}
}

// entry reads the file's entry for one name. The published list may have prices that it
// lacks.
func (f *file) entry(name string, n *yaml.Node) entry {
	e := entry{name: name}
	given := map[string]budget.USD{}
	var long map[string]budget.USD
	var above int64
	f.each(n, name, func(key, value *yaml.Node) {
		switch key.Value {
		case "window":
			e.window = f.count(key, value)
		case "long":
			long = map[string]budget.USD{}
			f.each(value, "long", func(key, value *yaml.Node) {
				if key.Value == "above" {
					above = f.count(key, value)
				} else {
					f.rate(long, key, value)
				}
			})
		default:
			f.rate(given, key, value)
		}
	})
	base, _ := f.list.Of(name)
	p := Price{Rates: over(base.Rates, given), LongAbove: base.LongAbove, Long: base.Long}
	if len(given) > 0 {
		p.LongAbove, p.Long = 0, Rates{} // the step belonged to the other rates
	}
	if long != nil {
		if p.LongAbove, p.Long = above, over(p.Rates, long); above == 0 {
			f.wrong(n.Line, "long of %s needs above: the number of input tokens from which it counts", name)
		}
	}
	if len(given) == 0 && long == nil {
		return e // the entry has only a window
	}
	e.price = &p
	if p.Input == 0 && p.Output == 0 && !has(given, "input", "output") {
		f.wrong(n.Line, "%s needs input and output, in dollars per million tokens (0 is free)", name)
	}
	return e
}

func has(given map[string]budget.USD, names ...string) bool {
	for _, name := range names {
		if _, ok := given[name]; !ok {
			return false
		}
	}
	return true
}

// over returns the rates with the given ones in their place. A cache without a price costs
// as much as input.
func over(base Rates, given map[string]budget.USD) Rates {
	unpriced := base == Rates{}
	pick := func(name string, old budget.USD) budget.USD {
		if v, ok := given[name]; ok {
			return v
		}
		return old
	}
	r := Rates{Input: pick("input", base.Input), Output: pick("output", base.Output)}
	if unpriced {
		base.CacheRead, base.CacheWrite = r.Input, r.Input
	}
	r.CacheRead, r.CacheWrite = pick("cache_read", base.CacheRead), pick("cache_write", base.CacheWrite)
	return r
}

func (f *file) rate(into map[string]budget.USD, key, value *yaml.Node) {
	switch key.Value {
	case "input", "output", "cache_read", "cache_write":
	default:
		f.wrong(key.Line, "there is no field %q; there are input, output, cache_read, cache_write, long and window", key.Value)
		return
	}
	usd, err := budget.ParseUSD(value.Value)
	switch {
	case value.Kind != yaml.ScalarNode || err != nil:
		f.wrong(value.Line, "%s is %q; give dollars per million tokens, such as 2.50", key.Value, value.Value)
	case usd%1_000_000 != 0:
		f.wrong(value.Line, "%s is %s; give at most six decimals", key.Value, value.Value)
	default:
		into[key.Value] = usd
	}
}

func (f *file) count(key, value *yaml.Node) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(value.Value, "_", ""), 10, 64)
	if err != nil || n < 1 {
		f.wrong(value.Line, "%s is %q; give a whole number of tokens from 1 up", key.Value, value.Value)
		return 0
	}
	return n
}
