package adoptsim_test

import "github.com/lethe-storage/lethe/test/adoptsim"

// numberedMutants are the rules of contents whose key is not that of their object taken away.
var numberedMutants = of(adoptsim.Numbered, []mutant{
	{name: "the guard knows marks by contents alone", rule: "an object that is being deleted is no other content's", file: app,
		edits: edit("		if err := db.guard(content); err != nil {\n			return err\n		}\n		if m.State == Waiting {", "		if m.State == Waiting {")},
	{name: "what waits keeps an object that is another content's", rule: "what waits has the object of a new content no more", file: app,
		edits: edit("	for _, content := range waits {\n		delete(db.marks, content)\n	}", "	clear(waits)")},
})
