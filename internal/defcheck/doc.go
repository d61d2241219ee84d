// Package defcheck finds names in agent definitions that stand for nothing here: misspelt
// tools and models, lists of tools that leave an agent without any, and mistakes in hooks.
// It is given to package defs, which knows the form of a definition and not what exists:
//
//	check := defcheck.New(node.AllToolNames, servers)
//	set, err := defs.Load(defs.Options{Cwd: dir, Check: check.Problems})
//	for _, d := range set.Active {
//		notes = append(notes, check.Notes(d)...)
//	}
//
// Laws:
//
//   - A name in tools that is near to a tool, or differs from it in case only, is a
//     problem, and so is a model that is near to an alias (TestNearNamesAreProblems).
//   - A name in disallowedTools is a problem unless it stands for a tool here or in other
//     programs: it takes nothing away (TestAGuardThatTakesNothingAwayIsAProblem).
//   - A list of tools without any tool that exists is a problem that makes the definition
//     unusable (TestAListWithoutAToolIsUnusable).
//   - Other names in tools are notes, one for each definition, and never problems: public
//     definitions list tools of many programs (TestToolsOfOtherProgramsAreANote).
package defcheck
