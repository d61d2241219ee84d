package defedit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/google/go-cmp/cmp"
)

func TestFormatWritesOneForm(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"order and names": {
			"---\nversion: 1.0\ncolour: Blue\ndisallowed-tools: [Bash, Write]\nwhen-to-use: 'Looks.'\nname: \"a\"\n---\nBody\n",
			"---\nname: a\ndescription: Looks.\ndisallowedTools: Bash, Write\ncolor: Blue\nversion: 1.0\n---\nBody\n",
		},
		"repair": {
			"---\nname: a\ndescription: Use it: always\n---\n",
			"---\nname: a\ndescription: \"Use it: always\"\n---\n",
		},
		"lists": {
			"---\nname: a\ndescription: d\ntools:\n  - Read\n  - \"Agent(a, b)\"\nskills: []\n---\n",
			"---\nname: a\ndescription: d\ntools: Read, Agent(a, b)\nskills: []\n---\n",
		},
		"every tool": {
			"---\nname: a\ndescription: d\ntools: '*'\n---\n",
			"---\nname: a\ndescription: d\ntools: \"*\"\n---\n",
		},
		"lines": {
			"---\nname: a\ndescription: \"one\\n\\ntwo: three\"\n---\n",
			"---\nname: a\ndescription: |-\n  one\n\n  two: three\n---\n",
		},
		"words that YAML takes for something else": {
			"---\nname: 'true'\ndescription: '12'\nmaxTurns: 3\nbackground: yes\n---\n",
			"---\nname: \"true\"\ndescription: \"12\"\nmaxTurns: 3\nbackground: yes\n---\n",
		},
		"byte order mark, line ends, missing fence": {
			"\xEF\xBB\xBF---\r\ndescription: d\r\nname: a\r\n\r\n# Body\r\nx  \r\n",
			"---\r\nname: a\r\ndescription: d\r\n---\r\n# Body\r\nx  \r\n",
		},
		"structure": {
			"---\nhooks:\n    Stop:   # here\n    - {hooks: [{type: command}]}\nname: a\ndescription: d\n---\n",
			"---\nname: a\ndescription: d\nhooks:\n    Stop:   # here\n    - {hooks: [{type: command}]}\n---\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Format("a.md", []byte(c.in), defs.User)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.out, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFormatDropsNothing(t *testing.T) {
	in := "---\n# who\nmodel: opus # the large one\n# what\nname: a\ndescription: d\nmodel: haiku\ntools:\n  - Read # only\n  # - Write\nodd: {a: [1, x]}\n# end\n---\n\n body \n"
	want := "---\n# what\nname: a\ndescription: d\ntools:\n  - Read # only\n  # - Write\n# who\nmodel: opus # the large one\n# model: haiku\nodd: {a: [1, x]}\n# end\n---\n\n body \n"
	got, err := Format("a.md", []byte(in), defs.User)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestFormatRefusesWhatItWouldChange(t *testing.T) {
	for in, want := range map[string]string{
		"# Notes\n":                     "no frontmatter",
		"---\nname: a\n---\n":           "no description",
		"---\nname: caf\xe9\n---\n":     "not UTF-8",
		"---\nname: a:b\n---\nx":        "a.md:",
		"---\ntools: {a: b}\n---\nBody": "a.md:",
	} {
		if out, err := Format("a.md", []byte(in), defs.User); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %q, %v; want %q", in, out, err, want)
		}
	}
}

// checkFormat holds the laws for one file that loads.
func checkFormat(t *testing.T, path string, src []byte) {
	t.Helper()
	before, _, err := defs.Parse(path, src, defs.User)
	if err != nil {
		return
	}
	out, err := Format(path, src, defs.User)
	if err != nil {
		t.Logf("refused: %v", err)
		return
	}
	after, _, err := defs.Parse(path, out, defs.User)
	if field := differingField(before, after); err != nil || field != "" {
		t.Fatalf("%s: %q differs after formatting (%v)\n%q\n%q", path, field, err, src, out)
	}
	again, err := Format(path, out, defs.User)
	if diff := cmp.Diff(string(out), string(again)); err != nil || diff != "" {
		t.Fatalf("%s: formatting twice is not formatting once: %v\n%s\nof %q", path, err, diff, src)
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{
		"---\nname: a\ndescription: d\n---\nBody\n",
		"---\n# c\nname: a # b\ndescription: Use it: so\nuser: x\nuser: y\ntools: [Read, 'Bash(a, b)'] # z\n---\n",
		"---\nname: a\ndescription: |\n  l\n\n   m\n# x\nhooks:\n  Stop: &a [1]\nx: *a\n---\n# B\r\n",
		"\xEF\xBB\xBF\n---\r\nname: a\r\ndescription: >-\r\n  d\r\n  e\r\nmodel: ~\r\ntools:\r\n",
		"---\nname: a\ndescription: \"l\n# no comment\n m\"\n\"odd key\": 1.50\noneShot: true\n---\n",
		"---\nname: a\ndescription: 'it''s \t\\n'\nmaxTurns: 0x10\nbackground: off\nskills:\n- a\n- b, c\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkFormat(t, "a.md", src) })
}

func TestFormatKeepsEveryMeaning(t *testing.T) {
	root := "../../../shared/corpus/agents"
	n := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, _, err := defs.Parse(path, src, defs.User); err != nil {
			return nil
		}
		if _, err := Format(path, src, defs.User); err != nil {
			t.Errorf("refused: %v", err)
		}
		n++
		checkFormat(t, path, src)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the collection of real definitions is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", n)
}
