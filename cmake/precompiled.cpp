// Has nothing of its own: what it stands for is in cmake/Precompiled.cmake.
