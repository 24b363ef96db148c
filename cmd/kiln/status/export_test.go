package status

// CommandWithin is the verb with another limit of time.
var CommandWithin = command
