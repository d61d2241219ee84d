package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorsOfOnePlatformAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26\n",
		"m.go":           "package m\n\nimport \"os\"\n\nvar _ = os.Args\n",
		"m_darwin.go":    "package m\n\nvar _ = missing\n",
		"other_test.go":  "//go:build darwin\n\npackage m\n\nvar _ int = \"\"\n",
		"of_linux.go":    "package m\n\nimport _ \"net\"\n",
		"on_windows.go":  "package m\n\nvar _ = absent\n",
		"sub/sub.go":     "package sub\n\nimport \"example.com/m\"\n\nvar _ = m.None\n",
		"sub/s_linux.go": "package sub\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	err := run(&out, []string{"linux/amd64", "darwin/arm64"}, "./...")
	if !errors.Is(err, errRefused) {
		t.Errorf("error %v", err)
	}
	for want, n := range map[string]int{
		"darwin/arm64: " + filepath.Join(dir, "m_darwin.go") + ":3:9: undefined: missing\n": 1,
		"other_test.go:5:13: cannot use": 1,
		"undefined: m.None":              1,
		"absent":                         0,
	} {
		if got := strings.Count(out.String(), want); got != n {
			t.Errorf("%q is there %d times, want %d, in:\n%s", want, got, n, out.String())
		}
	}
	if err := run(&out, []string{"linux"}, "./..."); err == nil || errors.Is(err, errRefused) {
		t.Errorf("a platform without a processor: %v", err)
	}
}
