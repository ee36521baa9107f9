package adoptsim_test

import "github.com/lethe-storage/lethe/test/adoptsim"

const (
	take = "adopt/take.go"
)

// takenMutants are the rules of rows without columns for a claim taken away.
var takenMutants = of(adoptsim.Taken, []mutant{
	{name: "copies of what was taken are not dropped at once", rule: "the first drop follows the row", file: records,
		edits: edit("db.dropLater(0, fresh)", "db.dropLater(after, fresh)")},
	{name: "copies of what was taken are not dropped once more", rule: "CacheAgain: readers fill late", file: take,
		edits: edit("t.Records.Take(ctx, size, t.Grace.CacheAgain)", "t.Records.Take(ctx, size, 0*t.Grace.CacheAgain)")},
})
