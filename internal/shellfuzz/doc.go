// Package shellfuzz tests what commands do that run without a question: it writes shell
// text, has internal/permission judge it in each mode, runs what is allowed under the
// profile of the decision, and looks for canaries. It has no product code. A short run is
// part of make test, and the whole one is a line of make soak:
//
//	SWARM_SOAK=1 go test -count=1 -v -timeout 120m ./internal/shellfuzz
//	SWARM_FUZZ_SEED=7 go test -count=1 -v ./internal/shellfuzz   # another seed
//
// The canaries are a file outside of the working directory, credentials in the home,
// swarm's own state, names that other programs obey (.git/config, .claude/settings.json),
// a file that a rule denies, listeners on the loopback interface and on Unix sockets, and
// the environment of the test program. The repository that the commands run in is hostile:
// its configuration names programs that try all of them.
//
// The laws under test:
//
//   - What runs without a question writes, reads and reaches no canary
//     (TestNothingUnaskedTouchesACanary).
//   - The profiles hold text that was never judged, too (TestProfilesHoldUnjudgedText).
//   - Each kind of canary is touched by the same commands where nothing holds them, so
//     that the tests can fail (TestCanariesAreTouchedWithoutASandbox).
//   - At least nine in ten harmless commands of everyday work run without a question
//     (TestHarmlessCommandsRunUnasked).
package shellfuzz
