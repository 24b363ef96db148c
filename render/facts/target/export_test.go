package target

// Aliases is the table behind FindAlias.
var Aliases = aliases
