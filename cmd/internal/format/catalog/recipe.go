// The spans that ptrace-run --make records, one for each line of a recipe of make. make.begin has
// "TARGET: LINE" as its data, make.end the status. Package tracer writes them and package analysis
// reads them.

package catalog

// RecipeSpan is the name of the spans.
const RecipeSpan = "make"

// recipeKeys is the upper half of their recipeKeys, which makes them unlike those of other spans. A span inside
// may belong to another process than the one around it, so its key must be unique in the log.
const recipeKeys = 0x6d616b65

// RecipeKey returns the key of the nth span.
func RecipeKey(n uint32) uint64 { return recipeKeys<<32 | uint64(n) }

// IsRecipeKey reports whether a key is one of Key.
func IsRecipeKey(key uint64) bool { return key>>32 == recipeKeys }
