// Package settings reads the keys of the settings files that the runtime itself obeys;
// package defs finds the files and knows those about agents.
//
//	modes, notes := settings.Values(sources, settings.TeammateMode, validMode)
//	hooks, problems := settings.Hooks(sources, store.Trusts)
//	rules, err := settings.ReadPermissions(sources, store.Trusts)
//	place, err := settings.Save(sources, store, settings.LocalScope, "allow", rule)
//
// The laws:
//
//   - A file that is not trusted has no effect (TestValuesOfUntrustedFilesDoNotCount),
//     except for its deny and ask rules: it may tighten, never loosen
//     (TestUntrustedFilesTightenAndNeverLoosen).
//   - A file that others can write, and one with a mistake in its permissions, only
//     tightens (TestFilesThatOthersCanWriteOnlyTighten, TestAFileWithAMistakeOnlyTightens). Nothing is read past managed settings that
//     cannot be read (TestManagedSettingsFailClosed).
//   - A rule that denies or asks counts although it is not closed (TestUnclosedRulesRestrict).
//   - A value that is wrong costs itself and no other: there is a note of its file and
//     key, and the rest counts (TestAWrongValueIsANote).
//   - Hooks of a directory run only while the user trusts exactly these
//     (TestHooksOfADirectoryNeedTrust).
//   - Each call reads the files as they are now (TestHooksAreReadAnew), and a Follower
//     reads changed files at the next decision (TestChangesTakeEffect).
//   - What loosens while a session runs needs trust (TestWhatLoosensLaterNeedsTrust), and a
//     rule that denies or asks cannot be taken out of a directory's own files meanwhile
//     (TestRemovedRulesOfADirectoryHold).
//   - Keys of sandbox in a directory's own files only tighten
//     (TestADirectoryOnlyTightensTheSandbox, TestHostsOfADirectoryOnlyDeny), and what has
//     no effect is named (TestKeysWithoutEffectAreNamed).
//   - What the key sandbox of a directory's own files allows does not apply
//     (TestSandboxSettingsOfADirectoryOnlyTighten); what is not known or wrong there is
//     named, and costs nothing that denies (TestUnknownSandboxSettingsAreNamed).
//   - A key that is near to one that guards, or would run something elsewhere, is named
//     (TestKeysThatMayBeReliedOnAreNamed), and modes are disabled by a key at the top too
//     (TestModesAreDisabledAtTheTopToo).
//   - What a person saves stays trusted, and nothing else becomes so
//     (TestWhatAPersonSavesStaysTrusted, TestSavingTrustsNothingElse).
package settings

import (
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// Keys of the settings files.
const (
	TeammateMode        = "teammateMode"        // where teammates run
	CrossSessionInbound = "crossSessionInbound" // what becomes of messages of other sessions
)

// Values returns the values of a key in the trusted files, the weakest first, and a note
// for each value that is not a T or that check refuses: its error goes on after the
// name of the key, as in "is 7; use 1 to 5".
func Values[T any](from defs.Options, key string, check func(T) error) (values []T, notes []string) {
	files, _, err := defs.ReadSettings(from)
	if err != nil {
		return nil, nil // reported where the definitions are read
	}
	for _, f := range files {
		if f.Untrusted {
			continue
		}
		var v T
		found, err := value(f, key, &v)
		if err == nil && found {
			err = check(v)
			if err != nil {
				err = fmt.Errorf("%s: %s %w", f.Path, key, err)
			}
		}
		switch {
		case err != nil:
			notes = append(notes, err.Error())
		case found:
			values = append(values, v)
		}
	}
	return values, notes
}

// value reads one key of a file, if the file has it.
func value(f defs.SettingsFile, key string, into any) (found bool, err error) {
	raw, err := f.Value(key)
	if err != nil || raw == nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("%s: %s: %w", f.Path, key, syntaxerr.Plain(err))
	}
	return true, nil
}
