package sim_test

// sleepMutants break what keeps a writer who stood still from leaving bytes without a
// row.
var sleepMutants = []mutant{
	{
		name: "a writer who slept sends all the same", rule: "19: it looks right before it sends", within: 8000, known: 97,
		file: "object/heartbeat.go", old: "func (p *heartbeat) stands() error { return p.check(0) }", new: "func (p *heartbeat) stands() error { return nil }",
	}, {
		name: "what was sent too late has no row", rule: "19: a condemned row is written for it", within: 8000, known: 4,
		file: "object/settle.go", old: "	if !a.sure && a.mayBeReaped {", new: "	if false {",
	},
}

func init() { mutants = append(mutants, sleepMutants...) }
