#include "cli/app.h"

int main(int argc, char** argv) { return railbed::run_railbed(argc, argv); }
