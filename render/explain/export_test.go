package explain

// Values lets the test of every value call values.
var Values = values
