/* Version of Saikai; made by CMake. */
#ifndef SAIKAI_VERSION_H
#define SAIKAI_VERSION_H

#define SAIKAI_VERSION_MAJOR 0
#define SAIKAI_VERSION_MINOR 1
#define SAIKAI_VERSION_PATCH 0
#define SAIKAI_VERSION       "0.1.0"

#endif
