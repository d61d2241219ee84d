// Package redact removes keys from the output of tools, before it is recorded or sent to
// a model.
//
//	secrets := redact.New(os.Getenv("ANTHROPIC_API_KEY"))
//	text, kinds := secrets.Text(output)
//	// kinds: [Anthropic key, GitHub token]
//
// A key is recognized by its shape: the prefixes with which services begin theirs, PEM
// blocks, and JSON web tokens. The values that New is given are removed wherever they
// stand. Passwords without a shape are not recognized.
//
// Laws:
//
//   - No key of a known shape is left, whatever stands around it, in lines with numbers and
//     in strings of JSON too (TestGeneratedKeysAreRemoved).
//   - No tool writes a placeholder: it would take the place of the user's key
//     (TestNoPlaceholderIsWritten).
//   - A text without a key is not changed (TestOrdinaryTextStays), and neither is one that
//     was redacted (FuzzText).
package redact
