/* A second user database, as Flatcar's and Fedora CoreOS' nss-altfiles are: users and groups from files in FOLDER. */
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define LOOKUP(function, type, file, read, found, ...)                                                                 \
	enum nss_status function(__VA_ARGS__, struct type *entry, char *text, size_t size, int *error) {               \
		FILE *database = fopen(FOLDER "/" file, "re");                                                         \
		struct type *each;                                                                                     \
		if (!database)                                                                                         \
			return NSS_STATUS_UNAVAIL;                                                                     \
		while (!(*error = read(database, entry, text, size, &each)) && !(found))                               \
			;                                                                                              \
		fclose(database);                                                                                      \
		if (*error == ERANGE)                                                                                  \
			return NSS_STATUS_TRYAGAIN;                                                                    \
		return *error ? NSS_STATUS_NOTFOUND : NSS_STATUS_SUCCESS;                                              \
	}

LOOKUP(_nss_usrfiles_getpwnam_r, passwd, "passwd", fgetpwent_r, !strcmp(entry->pw_name, name), const char *name)
LOOKUP(_nss_usrfiles_getpwuid_r, passwd, "passwd", fgetpwent_r, entry->pw_uid == id, uid_t id)
LOOKUP(_nss_usrfiles_getgrnam_r, group, "group", fgetgrent_r, !strcmp(entry->gr_name, name), const char *name)
LOOKUP(_nss_usrfiles_getgrgid_r, group, "group", fgetgrent_r, entry->gr_gid == id, gid_t id)
